/** The C functions of libibverbs and librdmacm, as the software device implements them. */
package dev.verbena.soft.functions;
