/**
 * Adds a text to a hash of 53 bits, the most that a number holds. Among a million states two meet by accident once in 18 000
 * searches.
 */
export function fold(hash: number, text: string): number {
  let low = hash >>> 0;
  let high = Math.floor(hash / 2 ** 32) ^ 0x9e3779b9;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x85ebca77);
    high = Math.imul(high ^ code, 0xc2b2ae3d);
  }
  low = Math.imul(low ^ (low >>> 16), 0x735a2d97) ^ Math.imul(high ^ (high >>> 15), 0xcaf649a9);
  high = Math.imul(high ^ (high >>> 16), 0x735a2d97) ^ Math.imul(low ^ (low >>> 15), 0xcaf649a9);
  return (high & 0x1fffff) * 2 ** 32 + (low >>> 0);
}
