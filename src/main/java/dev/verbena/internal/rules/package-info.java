/** Rules of the specification and of libibverbs that are checked before a call. */
package dev.verbena.internal.rules;
