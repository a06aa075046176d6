/** A type whose fields may be assigned, for the code that fills an object which others only read. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
