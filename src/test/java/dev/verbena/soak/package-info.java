/** Objects that are made and closed many times: nothing must grow. */
package dev.verbena.soak;
