/**
 * Access of other packages of this library to members of {@code dev.verbena.verbs} that are not
 * public.
 */
package dev.verbena.internal.access;
