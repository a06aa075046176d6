import { loadZlib } from '../../runtime/modules/node-modules.ts';

const CHUNK_BYTES = 256 * 1024;

/** One zstd frame of the bytes. */
export function compress(bytes: Uint8Array<ArrayBuffer>): Promise<Buffer> {
  const { constants, zstdCompress } = loadZlib();
  // Faster than the defaults, which save no bytes: repetitions are near each other.
  const params = {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_windowLog]: 17,
    [constants.ZSTD_c_hashLog]: 14,
  };
  return new Promise((resolve, reject) => {
    zstdCompress(bytes, { params, chunkSize: CHUNK_BYTES }, (error, frame) => {
      if (error === null) resolve(frame);
      else reject(error);
    });
  });
}
