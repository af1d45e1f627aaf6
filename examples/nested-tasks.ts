/**
 * Tasks that run tasks. Every run inside `FulfilOrder` belongs to its chain, also the parallel ones, and the tree can be drawn from the results.
 */
import { chainTree, configure, Task, type ChainNode, type Result } from "taskwright";
import { z } from "zod";

const order = z.object({ orderId: z.string() });

class ReserveStock extends Task.with({ input: order.extend({ sku: z.string() }) }) {
  work() {
    if (this.input.sku === "cup") this.skip("always in stock");
    return { reserved: this.input.sku };
  }
}

class ChargeCustomer extends Task.with({ input: order }) {
  work() {
    this.context.charged = true; // one bag for the whole chain
    return { chargeId: `ch_${this.input.orderId}` };
  }
}

class PrintLabel extends Task.with({ input: order }) {
  work() {
    this.fail("the printer is out of paper");
  }
}

class Ship extends Task.with({ input: order }) {
  async work() {
    this.propagate(await PrintLabel.execute(this.input)); // a failed label is a failed shipment
    return { shipped: true };
  }
}

class FulfilOrder extends Task.with({ input: order.extend({ skus: z.array(z.string()) }) }) {
  async work() {
    const { orderId, skus } = this.input;
    await Promise.all(skus.map((sku) => ReserveStock.executeBang({ orderId, sku })));
    await ChargeCustomer.executeBang({ orderId });
    await Ship.executeBang({ orderId });
  }
}

const results: Result[] = [];
configure(({ telemetry }) => {
  telemetry.subscribe("task_executed", ({ payload }) => results.push(payload.result));
});

function draw(nodes: readonly ChainNode[], indent = ""): void {
  for (const { result, children } of nodes) {
    console.log(`${indent}${result.index} ${result.task}: ${result.status}${result.reason === undefined ? "" : `, ${result.reason}`}`);
    draw(children, `${indent}  `);
  }
}

const result = await FulfilOrder.execute({ orderId: "o-1", skus: ["tea", "cup"] });

console.log("The chain, by order of starting:");
draw(chainTree(results));
if (result.status === "failed") console.log(`\nThe failure began in ${result.origin.task}.`);
console.log("The shared bag:", result.context);
