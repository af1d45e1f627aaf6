/** What the soak program writes of one moment at which everything was at rest. */
export interface Sample {
  readonly atMs: number;
  readonly runs: number;
  readonly heapUsed: number;
  readonly rss: number;
  readonly timers: number;
  readonly resources: number;
  readonly listeners: number;
  readonly redisKeys: number;
  readonly memoryKeys: number;
}

export interface Soak {
  readonly samples: readonly Sample[];
  readonly answers: Readonly<Record<string, number>>;
  readonly warnings: readonly string[];
}

/** By how much a value grows over the second half of the samples, by the straight line that fits them best. */
export function growth(samples: readonly Sample[], valueOf: (sample: Sample) => number): number {
  const half = samples.slice(Math.floor(samples.length / 2));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [times, values] = [half.map(({ atMs }) => atMs), half.map(valueOf)];
  const [time, value] = [mean(times), mean(values)];
  const spread = times.reduce((sum, at) => sum + (at - time) ** 2, 0);
  const slope = times.reduce((sum, at, index) => sum + (at - time) * ((values[index] ?? value) - value), 0) / spread;
  return slope * ((times.at(-1) ?? 0) - (times[0] ?? 0));
}
