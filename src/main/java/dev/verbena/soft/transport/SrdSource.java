package dev.verbena.soft.transport;

import dev.verbena.soft.device.Peers;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.Psn;
import java.util.Arrays;

/**
 * A queue pair that sends requests to an SRD queue pair, and how its last requests were answered.
 */
final class SrdSource {
  /** How many PSNs are remembered: more than the window of a requester. */
  private static final int REMEMBERED = 4 * SrdRequester.WINDOW;

  /** A request that was not executed yet. */
  static final int NEW = -1;

  /** A request that its sender no longer waits for. */
  static final int OLD = -2;

  private final Gids gid;
  private final byte[] answers = new byte[REMEMBERED];
  private long session;
  private int highest;
  private int peersVersion = -1;
  private int number;

  SrdSource(Packet first) {
    gid = new Gids(first.sourceGidHigh, first.sourceGidLow);
    begin(first);
  }

  private void begin(Packet first) {
    session = first.session;
    highest = first.psn;
    Arrays.fill(answers, (byte) NEW);
  }

  /** The answer to a request that arrived before, {@link #NEW} or {@link #OLD}. */
  int answer(Packet request) {
    if (request.session != session) {
      begin(request);
    }
    int ahead = Psn.distance(highest, request.psn);
    if (ahead >= REMEMBERED) {
      begin(request);
    }
    while (Psn.distance(highest, request.psn) > 0) {
      highest = Psn.plus(highest, 1);
      answers[highest % REMEMBERED] = NEW;
    }
    return ahead <= -REMEMBERED ? OLD : answers[request.psn % REMEMBERED];
  }

  /** Remembers the answer to a request. */
  void answered(Packet request, int status) {
    answers[request.psn % REMEMBERED] = (byte) status;
  }

  /** The number of the address handle for its port, or {@link Peers#UNKNOWN}. */
  int number(Peers peers) {
    if (peersVersion != peers.version()) {
      peersVersion = peers.version();
      number = peers.number(gid);
    }
    return number;
  }
}
