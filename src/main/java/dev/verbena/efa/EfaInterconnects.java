package dev.verbena.efa;

import java.util.OptionalInt;

/**
 * The interconnects, such as PCI buses, by which an EFA reaches a memory region: {@code struct
 * efadv_mr_attr}. Regions of one interconnect compete for its bandwidth.
 *
 * @param receive the interconnect of received messages, if known
 * @param rdmaRead the interconnect of RDMA reads of this side, if known
 * @param rdmaReceive the interconnect of RDMA writes of the remote side, if known
 */
public record EfaInterconnects(
    OptionalInt receive, OptionalInt rdmaRead, OptionalInt rdmaReceive) {}
