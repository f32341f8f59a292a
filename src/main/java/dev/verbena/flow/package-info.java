/**
 * Flow steering: a {@link dev.verbena.flow.FlowRule} chooses the queue pair of the packets that its
 * {@link dev.verbena.flow.FlowMatch} describes; a {@link dev.verbena.flow.FlowAction} changes these
 * packets, {@link dev.verbena.flow.FlowCounters} count them.
 */
@NullMarked
package dev.verbena.flow;

import org.jspecify.annotations.NullMarked;
