/** What all floors share: how failures are reported. */
package dev.verbena;
