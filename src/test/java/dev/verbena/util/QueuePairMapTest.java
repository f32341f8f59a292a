package dev.verbena.util;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.soft.SoftHosts;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The objects of queue pairs are found by their numbers. */
class QueuePairMapTest {
  @Test
  void findsTheObjectOfEachQueuePair() {
    QueuePairMap<String> map = new QueuePairMap<>();
    try (SoftHosts hosts = SoftHosts.create()) {
      ProtectionDomain domain = hosts.clientContext().allocateProtectionDomain();
      CompletionQueue queue = hosts.clientContext().completionQueue(16).create();
      List<QueuePair> pairs = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        QueuePair pair =
            QueuePair.builder(domain, QueuePairType.RC)
                .completions(queue)
                .capacity(QueuePairCapacity.of(1))
                .create();
        assertNull(map.get(pair.number()));
        map.put(pair, "object " + i);
        pairs.add(pair);
      }
      assertEquals(100, map.size());
      for (int i = 0; i < 100; i++) {
        assertEquals("object " + i, map.get(pairs.get(i).number()));
      }
      map.put(pairs.get(3), "another");
      for (int i = 0; i < 100; i += 2) {
        map.remove(pairs.get(i).number());
      }
      map.remove(pairs.get(0).number());
      assertEquals(50, map.size());
      assertEquals("another", map.get(pairs.get(3).number()));
      for (int i = 4; i < 100; i++) {
        assertEquals(i % 2 == 0 ? null : "object " + i, map.get(pairs.get(i).number()));
      }
      assertThrows(NullPointerException.class, () -> map.put(pairs.get(0), null));
    }
  }
}
