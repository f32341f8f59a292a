/**
 * Connections that exchange messages, requests with their answers, and one-sided rings, over {@code
 * dev.verbena.verbs} and {@code dev.verbena.cm}.
 *
 * <table class="striped">
 * <caption>Tasks and classes</caption>
 * <thead><tr><th scope="col">Task</th><th scope="col">Classes</th></tr></thead>
 * <tbody>
 * <tr><th scope="row">exchange messages, access the peer's memory</th>
 * <td>{@link dev.verbena.messages.Connection}, {@link dev.verbena.messages.ConnectionSettings}, {@link dev.verbena.verbs.RemoteMemory}</td></tr>
 * <tr><th scope="row">send requests and answer them, many at a time</th>
 * <td>{@link dev.verbena.messages.RequestClient}, {@link dev.verbena.messages.RequestServer}</td></tr>
 * <tr><th scope="row">write messages to a peer's memory, which it polls</th>
 * <td>{@link dev.verbena.messages.RingWriter}, {@link dev.verbena.messages.RingReader}</td></tr>
 * <tr><th scope="row">listen for connections</th>
 * <td>{@link dev.verbena.cm.Listener}</td></tr>
 * </tbody>
 * </table>
 *
 * <p>A connection that cannot be established or has ended is a {@link
 * dev.verbena.cm.ConnectionException}, a failed work request a {@link
 * dev.verbena.verbs.WorkRequestException}, a request that the server could not answer a {@link
 * dev.verbena.messages.RequestFailedException}, a timeout a {@link
 * dev.verbena.RdmaTimeoutException}.
 */
@NullMarked
package dev.verbena.messages;

import org.jspecify.annotations.NullMarked;
