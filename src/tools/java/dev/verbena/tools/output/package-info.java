/** What the programs of the command line write: JSON, charts, numbers with units. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.output;
