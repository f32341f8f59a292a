package dev.verbena.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.soft.device.DeviceCounters;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftAddressHandle;
import dev.verbena.soft.device.SoftAddressVector;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.net.InetAddress;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Two software devices with DC. */
abstract class SoftDcEnds {
  static final long KEY = DcSide.KEY;

  final SoftNetwork network = SoftNetwork.create().profile("connectx5");
  final Queue<String> trace = new ConcurrentLinkedQueue<>();
  DcSide a;
  DcSide b;
  AddressHandle toB;
  SoftAddressVector pathToB;
  int target;

  @BeforeEach
  void open() {
    a = side(1);
    b = side(2);
    toB = a.handleFor(b);
    target = b.target.number();
    pathToB = Registry.at(toB.segment().address(), SoftAddressHandle.class).vector;
  }

  DcSide side(int host) {
    return new DcSide(network.addDevice("soft" + host, InetAddress.ofLiteral("192.0.2." + host)));
  }

  @AfterEach
  void close() {
    a.close();
    b.close();
    network.close();
  }

  SendRequest to(SendRequest request) {
    return request.toTarget(toB, target, KEY).signaled();
  }

  void send() {
    SendList sends = new SendList(1, 1);
    to(sends.send(0).local(a.memory, 0, 64));
    assertEquals(1, a.initiator.post(sends));
  }

  void assertServes() {
    a.recover();
    b.receive(99, 1024, 64);
    send();
    a.expect(CompletionStatus.SUCCESS);
    assertEquals(99, b.completion().id(0));
  }

  static DeviceCounters counters(DcSide side) {
    return soft(side.initiator).device.counters;
  }

  static SoftQueuePair soft(QueuePair queuePair) {
    return SoftQueuePair.at(queuePair.segment().address());
  }
}
