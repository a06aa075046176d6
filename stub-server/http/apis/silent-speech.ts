export type SpeechFormat = 'mp3' | 'wav' | 'pcm';

/** Media types by format. */
export const SPEECH_TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

const SAMPLES_PER_SECOND = 24_000;
const BYTES_PER_SAMPLE = 2;
/** A frame of MPEG-1 layer III, mono, 32 kbit/s at 44.1 kHz, whose samples are all 0. */
const MP3_FRAME = Buffer.concat([Buffer.of(0xff, 0xfb, 0x10, 0xc4), Buffer.alloc(100)]);
const MP3_FRAMES_PER_SECOND = 44_100 / 1152;

/** So much silence in a format; `pcm` is 16 bits at 24 kHz, without a head. */
export function silentSpeech(seconds: number, format: SpeechFormat): Buffer {
  if (format === 'mp3') {
    const frames = Math.max(1, Math.round(seconds * MP3_FRAMES_PER_SECOND));
    return Buffer.concat(Array.from({ length: frames }, () => MP3_FRAME));
  }
  const samples = Buffer.alloc(BYTES_PER_SAMPLE * Math.round(seconds * SAMPLES_PER_SECOND));
  return format === 'pcm' ? samples : Buffer.concat([waveHead(samples.length), samples]);
}

function waveHead(bytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + bytes, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  // Uncompressed, one channel.
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  head.writeUInt32LE(SAMPLES_PER_SECOND * BYTES_PER_SAMPLE, 28);
  head.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  head.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(bytes, 40);
  return head;
}
