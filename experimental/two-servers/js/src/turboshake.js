// TurboSHAKE128 (RFC 9861): Keccak with 12 rounds. A lane of 64 bits is two numbers of 32, the lower one first.

const ROUNDS = 12;
const RATE = 168; // bytes
const ROTATIONS = new Int32Array(25);
const PLACES = new Int32Array(25); // where rho and pi move a lane
const CONSTANTS = new Int32Array(2 * ROUNDS);
{
  let [x, y] = [1, 0];
  for (let t = 0; t < 24; t++) {
    ROTATIONS[x + 5 * y] = (((t + 1) * (t + 2)) / 2) % 64;
    [x, y] = [y, (2 * x + 3 * y) % 5];
  }
  for (let i = 0; i < 25; i++) PLACES[i] = Math.floor(i / 5) + 5 * ((2 * (i % 5) + 3 * Math.floor(i / 5)) % 5);
  let register = 1; // of the linear feedback that constants come from; the last 12 of 24 rounds are used
  for (let round = 0; round < 24; round++) {
    for (let j = 0; j < 7; j++) {
      const bit = 2 ** j - 1;
      if (register & 1 && round >= 24 - ROUNDS) CONSTANTS[2 * (round - 24 + ROUNDS) + (bit >> 5)] ^= 1 << (bit & 31);
      register = (register << 1) ^ ((register >> 7) * 0x171);
    }
  }
}

function permute(state) {
  const sums = new Int32Array(10);
  const moved = new Int32Array(50);
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < 10; i++) sums[i] = state[i] ^ state[i + 10] ^ state[i + 20] ^ state[i + 30] ^ state[i + 40];
    for (let lane = 0; lane < 25; lane++) {
      const [left, right] = [2 * ((lane + 4) % 5), 2 * ((lane + 1) % 5)];
      let low = state[2 * lane] ^ sums[left] ^ ((sums[right] << 1) | (sums[right + 1] >>> 31));
      let high = state[2 * lane + 1] ^ sums[left + 1] ^ ((sums[right + 1] << 1) | (sums[right] >>> 31));
      let by = ROTATIONS[lane];
      if (by >= 32) [low, high, by] = [high, low, by - 32];
      const to = 2 * PLACES[lane];
      moved[to] = by ? (low << by) | (high >>> (32 - by)) : low;
      moved[to + 1] = by ? (high << by) | (low >>> (32 - by)) : high;
    }
    for (let row = 0; row < 50; row += 10)
      for (let i = 0; i < 10; i++)
        state[row + i] = moved[row + i] ^ (~moved[row + ((i + 2) % 10)] & moved[row + ((i + 4) % 10)]);
    state[0] ^= CONSTANTS[2 * round];
    state[1] ^= CONSTANTS[2 * round + 1];
  }
}

/** A function that gives the next bytes of the stream for a message. */
export function turboshake(message, domain = 1) {
  const state = new Int32Array(50);
  const bytes = new Uint8Array(200);
  const padded = new Uint8Array(Math.ceil((message.length + 1) / RATE) * RATE);
  padded.set(message);
  padded[message.length] = domain;
  padded[padded.length - 1] ^= 128;
  const view = new DataView(padded.buffer);
  for (let at = 0; at < padded.length; at += RATE) {
    for (let i = 0; i < RATE / 4; i++) state[i] ^= view.getInt32(at + 4 * i, true);
    permute(state);
  }
  const out = new DataView(bytes.buffer);
  const squeeze = () => state.forEach((v, i) => out.setInt32(4 * i, v, true));
  squeeze();
  let used = 0;
  return (count) => {
    const given = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      if (used === RATE) {
        permute(state);
        squeeze();
        used = 0;
      }
      given[i] = bytes[used++];
    }
    return given;
  };
}
