/** `@nestjs/cqrs`: a bus that finds the handler of a command. It claims nothing. */
import "reflect-metadata";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { CommandBus, CommandHandler, CqrsModule } from "@nestjs/cqrs";
import { charge, GIVEN, input } from "../charge.mjs";
import { isCharge } from "../proof.mjs";
import { shared } from "../shared.mjs";

class ChargeCommand {
  constructor(given) {
    this.given = given;
  }
}

class ChargeHandler {
  async execute({ given }) {
    return charge(input.parse(given));
  }
}
CommandHandler(ChargeCommand)(ChargeHandler);

class ChargeModule {}
Module({ imports: [CqrsModule.forRoot()], providers: [ChargeHandler] })(ChargeModule);

const nest = shared(async () => {
  const application = await NestFactory.createApplicationContext(ChargeModule, { logger: false });
  await application.init();
  return { bus: application.get(CommandBus), close: () => application.close() };
});

export const rows = () => [
  {
    name: "Nest CommandBus, zod input",
    ...nest.hooks,
    call: () => nest.it.bus.execute(new ChargeCommand(GIVEN)),
    charges: 1,
    right: isCharge,
  },
];
