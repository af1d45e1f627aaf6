/** `cockatiel`: a retry, and nothing else around the call. */
import { handleAll, retry } from "cockatiel";
import { charge, GIVEN, input } from "../charge.mjs";
import { isCharge } from "../proof.mjs";

const policy = retry(handleAll, { maxAttempts: 3 });

export const rows = () => [
  {
    name: "cockatiel retry, zod input, no failure",
    call: () => policy.execute(async () => charge(input.parse(GIVEN))),
    charges: 1,
    right: isCharge,
  },
];
