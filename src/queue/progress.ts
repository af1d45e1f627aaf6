/** Brings an attempt's progress to the engine: one message at a time, and of several that wait only the last. */
export class Progress {
  readonly #send: (percent: number) => Promise<void>;
  readonly #onError: (thrown: unknown) => void;
  #latest: number | undefined;
  #sending: Promise<void> | undefined;

  constructor(send: (percent: number) => Promise<void>, onError: (thrown: unknown) => void) {
    this.#send = send;
    this.#onError = onError;
  }

  readonly tell = (percent: number): void => {
    this.#latest = percent;
    this.#sending ??= this.#sendAll();
  };

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#latest !== undefined) {
      const percent = this.#latest;
      this.#latest = undefined;
      await this.#send(percent).catch(this.#onError);
    }
    this.#sending = undefined;
  }
}
