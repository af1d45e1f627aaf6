/** `npm run prove` asks for the long versions. */
export const isLong: boolean = process.env["TASKWRIGHT_PROVE"] === "long";
