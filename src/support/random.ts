/** A number from 0 up to 1, for scattering waits. Not for secrets. */
export const random: () => number = Math.random;
