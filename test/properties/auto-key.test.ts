import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { autoKey, cborSerializer, jsonSerializer } from "taskwright/queue";

const name = fc.string({ minLength: 1, unit: "binary" }).filter((text) => text.isWellFormed() && !text.includes("\0"));
const SETTINGS = { numRuns: 500, seed: 20_261_130 };

test("a derived key is the prefix and 32 digits of the hash of name, NUL and payload, for any bytes", () => {
  fc.assert(
    fc.property(name, fc.uint8Array(), (task, payload) => {
      const hash = createHash("sha256")
        .update(Buffer.concat([Buffer.from(task), Buffer.of(0), payload]))
        .digest("hex");
      expect(autoKey(task, payload)).toBe(`auto:${hash.slice(0, 32)}`);
    }),
    SETTINGS,
  );
});

test("it differs wherever name or payload differ, also when one text is moved from one to the other", () => {
  fc.assert(
    fc.property(fc.tuple(name, fc.string()), fc.tuple(name, fc.string()), ([nameA, payloadA], [nameB, payloadB]) => {
      const isSame = nameA === nameB && payloadA === payloadB;
      expect(autoKey(nameA, payloadA) === autoKey(nameB, payloadB)).toBe(isSame);
      expect(autoKey(`${nameA}x`, payloadA)).not.toBe(autoKey(nameA, `x${payloadA}`));
    }),
    SETTINGS,
  );
});

test("what serializers give is given back as it was, for any JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      for (const serializer of [jsonSerializer(), jsonSerializer({ canonical: true }), cborSerializer()]) {
        const given = { value };
        expect(serializer.deserialize(serializer.serialize(given))).toEqual(JSON.parse(JSON.stringify(given)));
      }
    }),
    SETTINGS,
  );
});

test("the canonical serializer gives one text for all orders of the same fields, and only for them", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.integer(), { minKeys: 2 }), fc.integer(), (fields, turn) => {
      const entries = Object.entries(fields);
      const turned = Object.fromEntries([...entries.slice(turn % entries.length), ...entries.slice(0, turn % entries.length)]);
      const { serialize } = jsonSerializer({ canonical: true });
      expect(serialize(turned)).toEqual(serialize(fields));
      expect(serialize({ ...fields, another: 1 })).not.toEqual(serialize(fields));
    }),
    SETTINGS,
  );
});
