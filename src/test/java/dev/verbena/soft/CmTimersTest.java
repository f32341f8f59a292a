package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.PortSpace;
import dev.verbena.testing.Await;
import dev.verbena.values.QueuePairCapacity;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The times that a request for a connection (REQ) declares. */
class CmTimersTest {
  /** BTH, DETH and the header of a management datagram come before a message. */
  private static final int MESSAGE = 12 + 8 + 24;

  private static final Duration LONG = Await.LIMIT;

  @Test
  void aDeviceOverUdpDeclaresTheTimesOfANetwork() throws Exception {
    try (DatagramSocket peer = new DatagramSocket(UdpNetworkTest.at("127.0.0.2", 0));
        SoftNetwork network =
            SoftNetwork.overUdp(UdpNetworkTest.at("127.0.0.1", peer.getLocalPort()))) {
      byte[] request = network.call(() -> requestOf(peer));
      assertEquals(20, times(request, 43), "remote CM response timeout: 4.3 s");
      assertEquals(20, times(request, 47), "local CM response timeout: 4.3 s");
      assertEquals(17, times(request, 95), "local ACK timeout: 537 ms");
    }
  }

  /** A time in the upper five bits of a byte. */
  private static int times(byte[] request, int at) {
    return (request[MESSAGE + at] & 0xff) >>> 3;
  }

  private static byte[] requestOf(DatagramSocket peer) throws Exception {
    InetSocketAddress server = UdpNetworkTest.at("127.0.0.2", 7471);
    try (Endpoint endpoint = Endpoint.resolve(PortSpace.TCP, null, server, LONG)) {
      ConnectionId id = endpoint.id();
      var _ = id.queues().createQueuePair(QueuePairCapacity.of(1));
      id.connect(ConnectionParameters.DEFAULT, new byte[0]);
      DatagramPacket datagram = new DatagramPacket(new byte[1024], 1024);
      peer.receive(datagram);
      return datagram.getData();
    }
  }
}
