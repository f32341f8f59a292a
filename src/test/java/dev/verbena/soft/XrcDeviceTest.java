package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.VerbsException;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionStatus;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.XrcDomain;
import org.junit.jupiter.api.Test;

/** Extended reliable connections, with a sender and a receiver. */
class XrcDeviceTest {
  @Test
  void messagesGoToTheSharedReceiveQueueThatTheyName() {
    try (SoftPair pair = SoftPair.connected()) {
      XrcDomain domain = pair.b.context.openXrcDomain();
      CompletionQueue first = pair.b.context.createCompletionQueue(8);
      CompletionQueue second = pair.b.context.createCompletionQueue(8);
      SharedReceiveQueue one = pair.b.domain.sharedReceiveQueue(4).xrc(domain, first).create();
      SharedReceiveQueue two = pair.b.domain.sharedReceiveQueue(4).xrc(domain, second).create();
      QueuePair sender = sender(pair);
      QueuePair receiver = domain.createQueuePair();
      receiver.connect(sender.localAddress());
      sender.connect(receiver.localAddress());
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, pair.b.region, 0, 64);
      assertEquals(1, one.post(receive));
      receive.local(0, pair.b.region, 64, 64);
      assertEquals(1, two.post(receive));
      pair.a.memory.setString(0, "for the second");
      send(pair, sender, two.number());
      assertEquals(CompletionStatus.SUCCESS, SoftPair.await(second));
      assertEquals("for the second", pair.b.memory.getString(64));
      pair.a.memory.setString(0, "for the first");
      send(pair, sender, one.number());
      assertEquals(CompletionStatus.SUCCESS, SoftPair.await(first));
      assertEquals("for the first", pair.b.memory.getString(0));
    }
  }

  @Test
  void unknownSharedReceiveQueueIsAnInvalidRequest() {
    try (SoftPair pair = SoftPair.connected()) {
      QueuePair sender = sender(pair);
      QueuePair receiver = pair.b.context.openXrcDomain().createQueuePair();
      receiver.connect(sender.localAddress());
      sender.connect(receiver.localAddress());
      SendList list = new SendList(1, 1);
      list.send(0).local(pair.a.region, 0, 64).sharedReceiveQueue(77).signaled();
      assertEquals(1, sender.post(list));
      assertEquals(CompletionStatus.REM_INV_REQ_ERR, pair.completion());
    }
  }

  @Test
  void domainWithoutFileThrows() {
    try (SoftPair pair = SoftPair.connected()) {
      assertThrows(VerbsException.class, () -> pair.a.context.openXrcDomain(987_654));
    }
  }

  private static QueuePair sender(SoftPair pair) {
    return pair.a
        .domain
        .queuePair(QueuePairType.XRC_SEND)
        .completions(pair.a.completions)
        .capacity(QueuePairCapacity.of(4))
        .create();
  }

  private static void send(SoftPair pair, QueuePair sender, int queue) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.region, 0, 64).sharedReceiveQueue(queue).signaled();
    assertEquals(1, sender.post(list));
    assertEquals(CompletionStatus.SUCCESS, pair.completion());
  }
}
