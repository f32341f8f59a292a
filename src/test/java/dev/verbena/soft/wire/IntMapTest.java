package dev.verbena.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The map of keys and queue pair numbers, compared with one of the JDK. */
class IntMapTest {
  private static final int[] KEYS = new Random(5).ints(300).toArray();

  private final IntMap<Integer> map = new IntMap<>();
  private final Map<Integer, Integer> expected = new HashMap<>();

  private void compare() {
    assertEquals(expected.size(), map.size());
    for (int key : KEYS) {
      assertEquals(expected.get(key), map.get(key));
    }
    Set<Integer> values = new HashSet<>();
    map.forEach(values::add);
    assertEquals(new HashSet<>(expected.values()), values);
  }

  @Test
  void keysAreFoundAfterOthersWereRemoved() {
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      int key = KEYS[random.nextInt(KEYS.length)];
      if (random.nextInt(i % 4_000 < 2_000 ? 3 : 2) == 0) {
        map.remove(key);
        expected.remove(key);
      } else {
        map.put(key, i);
        expected.put(key, i);
      }
      if (i % 50 == 0) {
        compare();
      }
    }
  }

  @Test
  void removingAKeyThatIsNotThereDoesNothing() {
    map.put(1, 1);
    map.remove(2);
    assertEquals(1, map.get(1));
    assertNull(map.get(2));
  }
}
