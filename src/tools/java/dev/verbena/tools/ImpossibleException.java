package dev.verbena.tools;

import dev.verbena.tools.command.Peer;
import java.io.IOException;

/** A measurement that is not possible here, which is no failure: the message is the reason. */
final class ImpossibleException extends IOException {
  private static final long serialVersionUID = 1L;

  private static final String YES = "yes ";
  private static final String NO = "no ";

  ImpossibleException(String reason) {
    super(reason);
  }

  /** Sends the peer that a measurement is possible, with what it must know. */
  static void no(Peer peer, String reason) throws IOException {
    peer.sendText(NO + reason);
  }

  static void yes(Peer peer, String detail) throws IOException {
    peer.sendText(YES + detail);
  }

  /** Returns what the peer must know; throws if the measurement is not possible there. */
  static String requireYes(Peer peer) throws IOException {
    String answer = peer.receiveText("whether the measurement is possible");
    if (!answer.startsWith(YES)) {
      throw new ImpossibleException("at the peer: " + answer.substring(NO.length()));
    }
    return answer.substring(YES.length());
  }
}
