/**
 * Amazon's Elastic Fabric Adapter (EFA): queue pairs of its transport service SRD, and what its
 * provider library {@code libefa} adds to the verbs.
 *
 * <p>SRD (scalable reliable datagram) is addressed like UD and acknowledged like RC. One queue pair
 * exchanges messages with any number of others; an address handle is needed for each remote device.
 *
 * <table>
 * <caption>Tasks</caption>
 * <tr><th>task</th><th>class</th></tr>
 * <tr><td>limits and capabilities of the device</td><td>{@link dev.verbena.efa.EfaDevice}</td></tr>
 * <tr><td>SRD queue pairs</td><td>{@link dev.verbena.efa.EfaDevice#queuePair}</td></tr>
 * <tr><td>the source of a message</td><td>{@link dev.verbena.efa.EfaCompletionQueue}</td></tr>
 * </table>
 *
 * <p>What differs from RC:
 *
 * <ul>
 *   <li>Messages arrive and complete in any order, also those of one queue pair to another.
 *   <li>RDMA requires an address handle on both sides: the remote side's protection domain needs
 *       one for this device. Without it the request completes with {@link
 *       dev.verbena.values.CompletionStatus#REM_OP_ERR}.
 *   <li>A send has at most the size of the MTU, {@link
 *       dev.verbena.attributes.PortAttributes#maxMessageSize}; an RDMA operation {@link
 *       dev.verbena.efa.EfaDevice#maxRdmaSize}, and one SGE.
 *   <li>Each request is signaled. Fences, solicited events, atomic operations, memory windows and
 *       shared receive queues do not exist. There is no RDMA CM: exchange {@link
 *       dev.verbena.address.QueuePairAddress} by other means.
 *   <li>A failed request leaves the queue pair in state RTS.
 *   <li>A queue pair cannot be reset; poll its completions before it is closed.
 *   <li>The completion of an RDMA read has the opcode SEND, as libefa does not report it.
 *   <li>The number of address handles is limited: {@link
 *       dev.verbena.attributes.DeviceAttributes#maxAddressHandles}; creating one more fails with
 *       ENOMEM.
 * </ul>
 *
 * <p>Functions of efadv.h without a member here: {@code efadv_create_driver_qp} is replaced by
 * {@code efadv_create_qp_ex}; {@code efadv_query_qp_wqs} and {@code efadv_query_cq} return the
 * addresses of the queues for programs that write queue entries themselves; {@code
 * efadv_create_comp_cntr} is {@code ibv_create_comp_cntr} with memory of the program, for which see
 * {@link dev.verbena.verbs.CompletionCounter}; {@code efadv_qp_from_ibv_qp_ex} and {@code
 * efadv_wr_set_processing_hints} set a hint for single requests.
 */
@NullMarked
package dev.verbena.efa;

import org.jspecify.annotations.NullMarked;
