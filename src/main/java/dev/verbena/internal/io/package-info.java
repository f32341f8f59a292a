/** File descriptors: waiting for them, timers, UDP sockets. */
package dev.verbena.internal.io;
