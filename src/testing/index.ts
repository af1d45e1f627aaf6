export { ChaosStore } from "./chaos-store.js";
export type { ClaimFault, Disturbance, DisturbanceOptions, Fault, FaultOf, ReadFault, StoreCall, StoreOperation } from "./disturbance.js";
export { ManualClock } from "./manual-clock.js";
export { taskMatchers, type ExpectedReason, type TaskMatchers } from "./matchers.js";
export {
  checkStore,
  storeContract,
  type ContractFailure,
  type StoreContractOptions,
  type StoreUnderTest,
} from "./contract/store-contract.js";
export {
  checkEngine,
  engineContract,
  type EngineContractOptions,
  type EngineFailure,
  type EngineUnderTest,
} from "./engine-contract/engine-contract.js";
