// The part of an axis that is shown: [low, high] within its bounds.  Arithmetic only.

const NARROWEST = 1e-4; // share of the bounds; a release is smooth far above this

/** A window of the same width, moved inside the bounds; never wider than they are. */
export function inside([low, high], [least, most]) {
  const width = Math.min(Math.max(high - low, (most - least) * NARROWEST), most - least);
  const middle = (low + high) / 2;
  const start = Math.min(Math.max(middle - width / 2, least), most - width);
  return width >= most - least ? [least, most] : [start, Math.min(start + width, most)];
}

/** Narrower (factor below 1) or wider about `share` of the window, which stays where it is. */
export function zoomed([low, high], bounds, factor, share = 0.5) {
  const fixed = low + share * (high - low);
  const width = (high - low) * factor;
  return inside([fixed - share * width, fixed + (1 - share) * width], bounds);
}

/** Moved by a share of its own width. */
export function panned([low, high], bounds, share) {
  const step = share * (high - low);
  return inside([low + step, high + step], bounds);
}

export const isWhole = ([low, high], [least, most]) => low <= least && high >= most;

export const same = (one, other) =>
  one.every(([low, high], axis) => low === other[axis][0] && high === other[axis][1]);
