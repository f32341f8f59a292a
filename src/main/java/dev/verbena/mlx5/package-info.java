/**
 * NVIDIA's mlx5 devices (ConnectX, BlueField): queue pairs of the dynamically connected transport
 * (DC), which the provider library {@code libmlx5} adds to the verbs.
 *
 * <p>DC is reliable and in order like RC, but a queue pair has no fixed peer. A <em>DC
 * initiator</em> (DCI) sends each request to the <em>DC target</em> (DCT) that the request names;
 * the device connects to it and disconnects by itself. A target receives from any number of
 * initiators into a shared receive queue. So a process that exchanges messages with n others needs
 * one target and some initiators, instead of n queue pairs.
 *
 * <table>
 * <caption>Tasks</caption>
 * <tr><th>task</th><th>class</th></tr>
 * <tr><td>DC initiators and targets</td><td>{@link dev.verbena.mlx5.Mlx5Device}</td></tr>
 * <tr><td>the target of a request</td>
 * <td>{@link dev.verbena.verbs.SendRequest#toTarget}</td></tr>
 * </table>
 *
 * <p>What differs from RC:
 *
 * <ul>
 *   <li>A request names an address handle of the target's device, the number of the target (DCTN)
 *       and its DC access key. There is no RDMA CM: exchange {@link
 *       dev.verbena.address.QueuePairAddress} and the key by other means.
 *   <li>An initiator receives nothing, and a target sends nothing: for messages in both directions
 *       each side has one of each.
 *   <li>A target has its number from state RTR on, which is its last state: {@link
 *       dev.verbena.verbs.QueuePair#activate} leads there. It cannot be reset: close it.
 *   <li>A failed request ends the initiator, as with RC: {@link dev.verbena.verbs.QueuePair#reset}
 *       it and activate it again. The target remains usable.
 *   <li>Requests of one initiator are executed one after another, and changing the target costs a
 *       connection of the device: use several initiators for several targets.
 * </ul>
 *
 * <p>The other functions of mlx5dv.h have no member here.
 */
@NullMarked
package dev.verbena.mlx5;

import org.jspecify.annotations.NullMarked;
