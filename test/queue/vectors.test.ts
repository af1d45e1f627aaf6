import { describe, expect, test } from "vitest";
import { autoKey } from "../../src/queue/keys.js";
import { cborSerializer, encodeCall } from "../../src/queue/serializers/cbor.js";
import { jsonSerializer } from "../../src/queue/serializers/json.js";

const hex = (text: string): Buffer => Buffer.from(text, "hex");
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("a derived key is the one that other languages derive", () => {
  test.each([
    ["send_email", Buffer.from('{"to":"a@b.com"}'), "auto:ca3f9aac3860dab1f1edb773c39ca21e"],
    ["task", Buffer.alloc(0), "auto:ff688985bc4fd8bdde332c05f8cb0d86"],
    ["send_email", Buffer.from("hello"), "auto:6b70352f019e763745b932f8330fe74e"],
    ["greet", hex("02828165776f726c64a0"), "auto:c3abb8ce58c62cb737c17b92beb816be"],
    ["t", Buffer.from("p"), "auto:4989da3d3249b909331ae7032b459c52"],
    ["charge_customer", hex("028282182a1903e8a0"), "auto:5e76fdbf23c73c77108798d59cf2ade2"],
    ["charge_customer", hex("028280a266616d6f756e741903e86b637573746f6d65725f6964182a"), "auto:49c497847c43af122cb268f9b8b7274a"],
    ["charge_customer", hex("5b34322c313030305d"), "auto:0b61aec43868556d404085007f42671c"],
    ["charge_customer", hex("5b5b34322c20313030305d2c207b7d5d"), "auto:775c3d5b487fef479da91d7706cca655"],
    ["charge_customer", hex("92922acd03e880"), "auto:ef7e7374dfe1c8f8f8bd90d67932fcf2"],
    ["charge_customer", hex("01c70a0092c70500922acd03e880"), "auto:aa510e4f7b19bf5b2457131d652cbc52"],
    ["charge_customer", hex("01c71c0092d4009082a6616d6f756e74cd03e8ab637573746f6d65725f69642a"), "auto:c242678d6c8c437153008fafe569815a"],
    ["chargeCustomer", hex("5b34322c313030305d"), "auto:134cd2a162466be332bdb05166dfd797"],
    ["héllo.task", hex("028280a0"), "auto:3bacf89422992aa8309525dd5fe6198f"],
    ["charge_customer", Buffer.from("[1000,42]"), "auto:8ad3676fda92db4670383d917612003f"],
    ["charge_customer", Buffer.alloc(0), "auto:89ba9ce005ff0f400ef6618fcce839cc"],
    ["charge_customer[42", Buffer.from(",1000]"), "auto:5be61b398fa1ff62ca6dc4066f16bcdc"],
    ["tâche", Buffer.from("{}"), "auto:a175217d7798340e47f4b14616c9d55c"],
  ])("%s with %o: %s", (task, payload, key) => {
    expect(autoKey(task, payload)).toBe(key);
  });

  test("a payload that is a text stands for its UTF-8 bytes", () => {
    expect(autoKey("tâche", "é")).toBe(autoKey("tâche", Buffer.from("é")));
  });
});

describe("the bytes of a call in CBOR are those of other languages, and so is the key", () => {
  test.each([
    [[], {}, "028280a0", "auto:6bfb91d3dcace7da41ae8ca3876e205d"],
    [[1, "a"], {}, "028282016161a0", "auto:1d176888d4471ed4d708b7239a1f5997"],
    [[], { k: true }, "028280a1616bf5", "auto:fe97a5f3b4c9cf98dc59afc129aed051"],
    [[1, "a"], { k: true }, "028282016161a1616bf5", "auto:2a7110ada6143420a4ac15bbbb032bd9"],
    [
      [{ order_id: "ord-0001", amount_cents: 1000 }],
      {},
      "028281a2686f726465725f6964686f72642d303030316c616d6f756e745f63656e74731903e8a0",
      "auto:ef19d6eed46595ea218e7d5897b4a1fe",
    ],
    [[null, true, false], {}, "028283f6f5f4a0", "auto:684fdea9335ced612de070717a97e39d"],
    [[{ a: [1, 2, { b: "c" }] }], {}, "028281a16161830102a161626163a0", "auto:807a98d6af888bfc1e1d561d7ba26507"],
    [["", "héllo"], {}, "028282606668c3a96c6c6fa0", "auto:ab7466dbd8a085bd0f7ad5de83f9ba89"],
    [[-1, -1000], {}, "028282203903e7a0", "auto:c9f155fe0f73d1e5309949e10496c495"],
    [[1.5], {}, "028281fb3ff8000000000000a0", "auto:b2506be27812b7c7f5ba148e7248f5bf"],
    [[2n ** 53n + 1n], {}, "0282811b0020000000000001a0", "auto:3b5cdca838a30f6ccef2c46144c12793"],
    [[Buffer.from([1, 2])], {}, "028281420102a0", "auto:4ed12887a98d77942802b531d42f3cde"],
    [[1_700_000_000_000], {}, "0282811b0000018bcfe56800a0", "auto:cffd7888fb9da2d4c0ee36f5703784ea"],
  ])("%o %o", (args, named, bytes, key) => {
    const payload = encodeCall(args, named);
    expect(hexOf(payload)).toBe(bytes);
    expect(autoKey("orders.process", payload)).toBe(key);
  });

  test("charge(42, 1000) by place and by name", () => {
    expect(autoKey("charge_customer", encodeCall([42, 1000], {}))).toBe("auto:5e76fdbf23c73c77108798d59cf2ade2");
    expect(autoKey("charge_customer", encodeCall([], { amount: 1000, customer_id: 42 }))).toBe("auto:49c497847c43af122cb268f9b8b7274a");
  });

  test.each([
    ["a small bigint takes the shortest form", [5n], "02828105a0"],
    ["a large negative number is an integer", [-(2 ** 40)], "0282813b000000ffffffffffa0"],
    ["a Uint8Array is plain bytes", [new Uint8Array([1, 2])], "028281420102a0"],
    ["keys keep their order", [{ b: 1, a: 2 }], "028281a2616201616102a0"],
  ])("%s", (_, args, bytes) => {
    expect(hexOf(encodeCall(args, {}))).toBe(bytes);
  });

  test.each([["028281f93e00a0"], ["028281fa3fc00000a0"]])("reads the shorter floats that others may write: %s", (bytes) => {
    expect(cborSerializer().deserialize(hex(bytes))).toBe(1.5);
  });
});

describe("an input in JSON is its own bytes", () => {
  test("so the key is that of a Java producer with the same payload", () => {
    const payload = jsonSerializer().serialize({ to: "a@b.com" });
    expect(autoKey("send_email", payload)).toBe("auto:ca3f9aac3860dab1f1edb773c39ca21e");
  });
});
