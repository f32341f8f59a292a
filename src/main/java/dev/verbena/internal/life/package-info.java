/**
 * The lifecycle of objects that C functions create and destroy: their parents, the threads that use
 * them, closing.
 */
package dev.verbena.internal.life;
