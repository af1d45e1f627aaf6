export { RedisStore } from "../stores/redis/store.js";
export type { ClusterNode, RedisClient, RedisCluster, RedisNode } from "../stores/redis/client.js";
export type { Verification } from "../stores/redis/verify.js";
