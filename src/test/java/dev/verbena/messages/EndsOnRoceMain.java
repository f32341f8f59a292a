package dev.verbena.messages;

import dev.verbena.messages.Ends.Place;

/** Runs the row of the table of the ends of connections after which the device is gone. */
final class EndsOnRoceMain {
  private EndsOnRoceMain() {}

  public static void main(String[] args) throws Exception {
    EndOfConnection row = EndOfConnection.REMOVED;
    try (PeerProcess peer = EndsOnRoce.startPeer();
        Ends ends = new EndsOnRoce(peer, row.settings(Place.ROCE))) {
      row.check(ends);
    }
  }
}
