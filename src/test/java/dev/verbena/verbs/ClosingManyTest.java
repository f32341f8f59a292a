package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.life.Core;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Spliterator;
import org.junit.jupiter.api.Test;

/** Closing one of many objects that were created on the same one. */
class ClosingManyTest {
  private static final int MANY = 1_000;

  /** The objects that were created on another one, counting how often all are visited. */
  private static final class Children extends LinkedHashSet<Core> {
    private static final long serialVersionUID = 1;

    private transient int visits;

    @Override
    public Iterator<Core> iterator() {
      visits++;
      return super.iterator();
    }

    @Override
    public Spliterator<Core> spliterator() {
      visits++;
      return super.spliterator();
    }

    @Override
    public Object[] toArray() {
      visits++;
      return super.toArray();
    }
  }

  private static final class Thing extends Resource {
    Thing(Core core) {
      super(core);
    }
  }

  private static Thing thing(Resource... parents) {
    return Core.make(List.of(parents), () -> 1, address -> {}, Thing::new);
  }

  /** Puts a set that counts in the place of that of an object. */
  private static Children countVisits(Resource object) throws ReflectiveOperationException {
    Children children = new Children();
    Field field = Core.class.getDeclaredField("children");
    field.setAccessible(true);
    assertEquals(LinkedHashSet.class, field.getType(), "removal that does not search");
    field.set(Core.of(object), children);
    return children;
  }

  @Test
  void closingDoesNotSearch() throws Exception {
    Thing context = thing();
    Children children = countVisits(context);
    List<Resource> many = new ArrayList<>();
    for (int i = 0; i < MANY; i++) {
      many.add(thing(context));
    }
    assertEquals(MANY, children.size());
    many.subList(250, 750).forEach(Resource::close);
    many.subList(0, 250).reversed().forEach(Resource::close);
    assertEquals(MANY / 4, children.size());
    context.close();
    assertEquals(0, children.size());
    assertFalse(many.getLast().isOpen());
    assertEquals(0, children.visits, "visits of all objects");
    assertTrue(children.toArray().length == 0 && children.visits == 1, "visits are counted");
  }
}
