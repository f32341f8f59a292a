package dev.verbena.aeron;

import org.agrona.concurrent.status.AtomicCounter;
import org.agrona.concurrent.status.CountersManager;

/**
 * What the sender or the receiver of a driver exchanged, as AeronStat shows it. One thread counts.
 * The counters end with the driver.
 */
final class TransportCounters {
  /** The type of the counters, which no counter of Aeron has. */
  static final int TYPE_ID = 7242;

  final AtomicCounter sentByRdma;
  final AtomicCounter sentByUdp;
  final AtomicCounter receivedByRdma;
  final AtomicCounter paths;
  final AtomicCounter demotions;
  final AtomicCounter tooLong;
  final AtomicCounter dropped;

  /** Allocates the counters, on the thread of the driver's conductor. */
  TransportCounters(CountersManager counters, String agent) {
    sentByRdma = counters.newCounter("RDMA " + agent + ": messages sent by RDMA", TYPE_ID);
    sentByUdp = counters.newCounter("RDMA " + agent + ": messages sent by UDP", TYPE_ID);
    receivedByRdma = counters.newCounter("RDMA " + agent + ": messages received by RDMA", TYPE_ID);
    paths = counters.newCounter("RDMA " + agent + ": paths by RDMA", TYPE_ID);
    demotions = counters.newCounter("RDMA " + agent + ": paths that went back to UDP", TYPE_ID);
    tooLong = counters.newCounter("RDMA " + agent + ": paths on UDP because of the MTU", TYPE_ID);
    dropped = counters.newCounter("RDMA " + agent + ": messages dropped", TYPE_ID);
  }
}
