/** Headless, without a graphics card, as root, and quiet towards the network. */
export const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Milliseconds for each step. */
export const PATIENCE = 60_000;
