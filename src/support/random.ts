/** Where chance comes from: a number from 0 up to 1. */
export const random: () => number = Math.random;
