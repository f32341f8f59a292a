/**
 * RDMA CM: connections by IP address and port, over librdmacm. To exchange messages, begin with the
 * package {@code dev.verbena.messages}, which is built on this one.
 *
 * <table class="striped">
 * <caption>Tasks and classes</caption>
 * <thead><tr><th scope="col">Task</th><th scope="col">Classes</th></tr></thead>
 * <tbody>
 * <tr><th scope="row">listen for connections</th>
 * <td>{@link dev.verbena.cm.Listener}</td></tr>
 * <tr><th scope="row">connect step by step with blocking calls, create the queue pair</th>
 * <td>{@link dev.verbena.cm.Endpoint}, {@link dev.verbena.cm.ConnectionQueues}, {@link dev.verbena.cm.ConnectionParameters}</td></tr>
 * <tr><th scope="row">post single requests and wait for their completions</th>
 * <td>{@link dev.verbena.cm.Transfers}</td></tr>
 * <tr><th scope="row">handle librdmacm's events</th>
 * <td>{@link dev.verbena.cm.EventChannel}, {@link dev.verbena.cm.ConnectionId}, {@link dev.verbena.cm.ConnectionEvent}</td></tr>
 * <tr><th scope="row">send datagrams, join multicast groups</th>
 * <td>{@link dev.verbena.cm.DatagramParameters}, {@link dev.verbena.cm.Multicast}</td></tr>
 * <tr><th scope="row">resolve names</th>
 * <td>{@link dev.verbena.cm.AddressQuery}, {@link dev.verbena.cm.AddressInfo}</td></tr>
 * <tr><th scope="row">connect a queue pair that librdmacm did not create</th>
 * <td>{@link dev.verbena.cm.ForeignQueuePair}</td></tr>
 * <tr><th scope="row">use librdmacm's synchronous mode</th>
 * <td>{@link dev.verbena.cm.SynchronousMode}</td></tr>
 * </tbody>
 * </table>
 *
 * <p>A failed call of librdmacm throws {@link dev.verbena.VerbsException}; a connection that cannot
 * be established or has ended is a {@link dev.verbena.cm.ConnectionException}, a failed work
 * request a {@link dev.verbena.verbs.WorkRequestException}, a timeout a {@link
 * dev.verbena.RdmaTimeoutException}.
 */
@NullMarked
package dev.verbena.cm;

import org.jspecify.annotations.NullMarked;
