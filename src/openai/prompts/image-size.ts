interface Size {
  readonly width: number;
  readonly height: number;
}

/** Before its size, a JPEG may have a preview and a colour profile, of 64 KiB each and more. */
const DECODED_BYTES_MAX = 512 * 1024;
const PNG_BYTES = 24;
const GIF_BYTES = 10;
const JPEG_FRAME_BYTES = 9;
const NOTHING: Buffer = Buffer.alloc(0);

/** Reads the size of a PNG, GIF or JPEG image from the beginning of its base64 text. */
export class ImageSize {
  /** The size in pixels, once it is read; undefined for other formats and broken images. */
  size: Size | undefined;
  #over = false;
  #isJpeg = false;
  #decodedBytes = 0;
  /** Characters that are no whole group of four yet. */
  #text = '';
  /** Bytes that can be read only together with the bytes behind them; fewer than 24. */
  #rest = NOTHING;
  #skip = 0;

  push(base64: Uint8Array): void {
    if (this.#over) return;
    // JSON may write a slash as `\/`.
    const piece = Buffer.from(base64.buffer, base64.byteOffset, base64.length);
    const text = this.#text + piece.toString('latin1').replaceAll('\\', '');
    const whole = text.length - (text.length % 4);
    this.#text = text.slice(whole);
    this.#read(Buffer.from(text.slice(0, whole), 'base64'));
  }

  /** The text has ended, perhaps without its padding. */
  end(): void {
    if (!this.#over) this.#read(Buffer.from(this.#text, 'base64'));
    this.#over = true;
  }

  #read(decoded: Buffer): void {
    this.#decodedBytes += decoded.length;
    const skipped = Math.min(this.#skip, decoded.length);
    this.#skip -= skipped;
    const data = Buffer.concat([this.#rest, decoded.subarray(skipped)]);
    const used = this.#isJpeg ? this.#segments(data, 0) : this.#begin(data);
    this.#skip += Math.max(0, used - data.length);
    this.#rest = Buffer.from(data.subarray(used));
    if (this.#decodedBytes > DECODED_BYTES_MAX) this.#over = true;
  }

  /** Returns how many bytes have been read, which may be more than there are. */
  #begin(data: Buffer): number {
    if (data.length < PNG_BYTES) return 0;
    const beginning = data.toString('latin1', 0, 8);
    if (beginning === '\x89PNG\r\n\x1a\n') {
      this.#found(data.readUInt32BE(16), data.readUInt32BE(20));
    } else if (/^GIF8[79]a/.test(beginning)) {
      this.#found(data.readUInt16LE(6), data.readUInt16LE(GIF_BYTES - 2));
    } else if (beginning.startsWith('\xff\xd8')) {
      this.#isJpeg = true;
      return this.#segments(data, 2);
    } else this.#over = true;
    return data.length;
  }

  #segments(data: Buffer, from: number): number {
    let at = from;
    while (!this.#over && at + JPEG_FRAME_BYTES <= data.length) {
      const marker = data.readUInt8(at + 1);
      if (data.readUInt8(at) !== 0xff) this.#over = true;
      else if (marker === 0xff) at += 1;
      else if (marker >= 0xc0 && marker <= 0xc2) {
        this.#found(data.readUInt16BE(at + 7), data.readUInt16BE(at + 5));
      } else if (marker === 0xda || marker === 0xd9) this.#over = true;
      else at += 2 + data.readUInt16BE(at + 2);
    }
    return at;
  }

  #found(width: number, height: number): void {
    this.#over = true;
    if (width > 0 && height > 0) this.size = { width, height };
  }
}
