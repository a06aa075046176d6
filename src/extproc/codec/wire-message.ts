/**
 * An encoded message, as much of a Buffer as grpc-js asks for: it frames every message by copying it once behind five
 * bytes of its own. A body that copies itself there is copied once in all.
 */
export interface WireMessage {
  readonly byteLength: number;
  copy(target: Buffer, targetStart: number): number;
}
