//! Seeded damage to bodies, for tests that feed decoders with nearly right input.

use crate::Random;

/// Numbers that decoders stumble over.
const AWKWARD: [&[u8]; 8] = [
    &[0x00],
    &[0x7f],
    &[0x80, 0x01],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    &[0x12, 0x00],
    b"\x1f\x8b\x08\x00",
];

/// Changes `body` in one to eight places: bits, bytes, cut, repeated, moved and swapped parts.
pub fn mutate(body: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(8) {
        if body.is_empty() {
            body.push(byte(random));
            continue;
        }
        let at = random.below(body.len());
        let length = random.below((body.len() - at).min(64)) + 1;
        match random.below(9) {
            0 => body[at] ^= 1 << random.below(8),
            1 => body[at] = byte(random),
            2 => {
                body.drain(at..at + length);
            }
            3 => {
                let part = body[at..at + length].to_vec();
                for _ in 0..random.below(40) {
                    body.splice(at..at, part.iter().copied());
                }
            }
            4 => body.truncate(at),
            5 => {
                let awkward = AWKWARD[random.below(AWKWARD.len())];
                body.splice(at..at, awkward.iter().copied());
            }
            6 => {
                let awkward = AWKWARD[random.below(AWKWARD.len())];
                let end = (at + awkward.len()).min(body.len());
                body.splice(at..end, awkward.iter().copied());
            }
            7 => {
                let to = random.below(body.len());
                body.swap(at, to);
            }
            _ => {
                let part = body[at..at + length].to_vec();
                let to = random.below(body.len());
                body.splice(to..to, part);
            }
        }
    }
}

fn byte(random: &mut Random) -> u8 {
    u8::try_from(random.below(256)).unwrap_or_default()
}
