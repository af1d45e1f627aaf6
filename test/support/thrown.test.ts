import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { ThrownValueError } from "taskwright";
import { isError, messageOf, stackOf, toError } from "../../src/support/thrown.js";

const foreign = runInNewContext("new TypeError('from afar')") as Error;
const unreadable = (...keys: string[]): Error => {
  const error = new Error("gone");
  for (const key of keys) {
    Object.defineProperty(error, key, {
      get() {
        throw new Error(key);
      },
    });
  }
  return error;
};
const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

describe("isError", () => {
  test.each<[string, unknown, boolean]>([
    ["an error", new RangeError("a"), true],
    ["an error of another realm", foreign, true],
    ["a DOMException", new DOMException("a"), true],
    ["an object that extends Error by hand", Object.create(Error.prototype), true],
    ["a proxy of an error", new Proxy(new Error("a"), {}), true],
    ["an object that looks like one", { name: "Error", message: "a", stack: "" }, false],
    ["a text", "Error", false],
    ["null", null, false],
    ["a revoked proxy", revoked(), false],
  ])("%s", (_, value, expected) => {
    expect(isError(value)).toBe(expected);
  });
});

describe("toError", () => {
  test("gives errors back as they are", () => {
    const error = new Error("a");

    expect(toError(error)).toBe(error);
    expect(toError(foreign)).toBe(foreign);
  });

  test("puts a stand-in before anything else, with the value as cause", () => {
    const value = revoked();

    expect(toError("declined")).toMatchObject({ name: "ThrownValueError", message: "declined", cause: "declined" });
    expect(toError(undefined)).toBeInstanceOf(ThrownValueError);
    expect(toError(value).cause).toBe(value);
  });
});

describe("messageOf and stackOf", () => {
  test("never give an empty text, and never throw", () => {
    expect(messageOf(new Error("a"))).toBe("a");
    expect(messageOf(Object.assign(new TypeError("gone"), { message: "" }))).toBe("TypeError");
    expect(messageOf(Object.assign(new Error("gone"), { message: "", name: "" }))).toBe("Error");
    expect(messageOf(unreadable("message"))).toBe("an error whose message cannot be read");
    expect(stackOf(new Error("a"))).toContain("thrown.test");
    expect(stackOf(Object.assign(new Error("a"), { stack: "" }))).toBe("a");
    expect(stackOf(Object.assign(new Error("a"), { stack: 5 as never }))).toBe("a");
    expect(stackOf(unreadable("stack", "message"))).toBe("an error whose message cannot be read");
  });
});
