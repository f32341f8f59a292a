/** The C functions of libibverbs and librdmacm, as the software device implements them. */
@NullMarked
package dev.verbena.soft.functions;

import org.jspecify.annotations.NullMarked;
