/** All that is used of BullMQ. Only this file names the package, so that it is loaded with this entry and no other. */
export { createPostgresBackend, DelayedError, Queue, UnrecoverableError, WaitingError, Worker } from "bullmq";
export type { BackendFactory, ConnectionOptions, IQueueBackend, Job, JobsOptions, PostgresConnectionOptions } from "bullmq";
