/**
 * RDMA verbs: devices, memory, queues and the data path (libibverbs).
 *
 * <ul>
 *   <li>Find and open a device: {@link dev.verbena.verbs.Device}, {@link
 *       dev.verbena.verbs.Context}; check the host: {@link dev.verbena.verbs.Verbena}.
 *   <li>Register memory: {@link dev.verbena.verbs.ProtectionDomain}, {@link
 *       dev.verbena.verbs.MemoryRegion}, {@link dev.verbena.verbs.MemoryWindow}; describe it to the
 *       peer: {@link dev.verbena.verbs.RemoteMemory}.
 *   <li>Create and connect queue pairs: {@link dev.verbena.verbs.QueuePairBuilder}, {@link
 *       dev.verbena.verbs.QueuePair}, {@link dev.verbena.verbs.QueuePairSetup}.
 *   <li>Post work requests: {@link dev.verbena.verbs.SendList}, {@link
 *       dev.verbena.verbs.ReceiveList}, {@link dev.verbena.util.SendRing}, {@link
 *       dev.verbena.util.ReceiveRing}, {@link dev.verbena.verbs.Posting}.
 *   <li>Poll and wait for completions: {@link dev.verbena.verbs.CompletionQueue}, {@link
 *       dev.verbena.verbs.Completions}, {@link dev.verbena.verbs.CompletionChannel}, {@link
 *       dev.verbena.verbs.CompletionWaiter}.
 *   <li>Address datagrams: {@link dev.verbena.verbs.AddressHandle}, {@link
 *       dev.verbena.address.AddressVector}; read their headers: {@link
 *       dev.verbena.address.GlobalRoutingHeader}.
 *   <li>Handle asynchronous events: {@link dev.verbena.verbs.AsyncEvents}.
 *   <li>Steer flows to queue pairs: {@link dev.verbena.flow.FlowRule}, {@link
 *       dev.verbena.verbs.ReceiveIndirectionTable}.
 *   <li>Find the members that call a C function: <a href="doc-files/c-functions.html">C
 *       functions</a>.
 * </ul>
 *
 * <p>Capabilities and attributes that mirror a C struct which libibverbs cannot extend are records,
 * as are values that a specification defines, such as {@link dev.verbena.address.Gid}. What may get
 * further components is a class.
 */
@NullMarked
package dev.verbena.verbs;

import org.jspecify.annotations.NullMarked;
