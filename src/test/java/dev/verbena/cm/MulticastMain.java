package dev.verbena.cm;

import dev.verbena.testing.Await;
import dev.verbena.verbs.AddressHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * A member of a multicast group in a JVM of its own: sends until it is killed, or waits for one
 * datagram.
 *
 * <p>Arguments: {@code send} or {@code receive}, the own address, the group's.
 */
final class MulticastMain {
  static final String JOINED = "joined";
  static final String RECEIVED = "received";

  private MulticastMain() {}

  public static void main(String[] args) throws Exception {
    InetAddress own = InetAddress.getByName(args[1]);
    InetSocketAddress group = new InetSocketAddress(InetAddress.getByName(args[2]), 0);
    try (MulticastMember member = MulticastMember.of(group, JoinFlag.FULLMEMBER, own);
        AddressHandle toGroup = member.toGroup()) {
      System.out.println(JOINED);
      if (args[0].equals("receive")) {
        System.out.println(member.datagrams().receive(Await.LIMIT) ? RECEIVED : "nothing");
        return;
      }
      while (true) {
        member.send(toGroup);
        Await.pass(Duration.ofMillis(100), "between datagrams, of which some may be lost");
      }
    }
  }
}
