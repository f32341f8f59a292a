/**
 * The C functions of libibverbs and librdmacm, as the software device implements them. A public
 * method of a class of functions has the name of the C function that it implements; behind a
 * pointer of a C struct it has the name of the pointer, such as {@code alloc_td} for {@code
 * ibv_alloc_td}.
 */
@NullMarked
package dev.verbena.soft.functions;

import org.jspecify.annotations.NullMarked;
