/** For `--plugin` of a shadow: a module that ends its thread, without an error. */
process.exit(3);
