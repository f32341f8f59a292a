package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.verbs.Resource;
import java.io.StringWriter;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.GenericDeclaration;
import java.lang.reflect.Member;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Members that exist only for other packages of this library are not public. */
@Tag("host")
class ClosedDoorsTest {
  @Test
  void resourceHasNoConstructorForOtherPackages() {
    assertTrue(
        Stream.of(Resource.class.getDeclaredConstructors())
            .noneMatch(c -> (c.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0));
  }

  @Test
  void aSubclassOfResourceInAnotherPackageDoesNotCompile(@TempDir Path classes) throws Exception {
    assertEquals("", compile(classes, "class User { dev.verbena.verbs.Resource resource; }"));
    String errors =
        compile(
            classes,
            "class Mine extends dev.verbena.verbs.Resource { Mine() { super(0, () -> {}); } }");
    assertTrue(errors.contains("Resource(long,Runnable) is not public"), errors);
  }

  private static String compile(Path classes, String source) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    JavaFileObject file =
        new SimpleJavaFileObject(URI.create("string:///A.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    Path library =
        Path.of(Resource.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    StringWriter errors = new StringWriter();
    List<String> options =
        List.of("-proc:none", "-cp", library.toString(), "-d", classes.toString());
    compiler.getTask(errors, null, null, options, null, List.of(file)).call();
    return errors.toString();
  }

  @Test
  void failuresAreExplainedByTheLibraryAlone() throws Exception {
    List<String> methods =
        Files.readString(Path.of("src/build/public-api.txt"))
            .lines()
            .filter(line -> line.matches(".*Exception (?:explained|during)\\(.*"))
            .toList();
    assertEquals(List.of(), methods);
  }

  /** A constructor would have to change with each new field of C. */
  @Test
  void capabilitiesHaveNoPublicConstructor() throws Exception {
    String api = Files.readString(Path.of("src/build/public-api.txt"));
    List<String> constructors =
        Pattern.compile("public dev\\.verbena\\.(\\w+\\.\\w+(?:Capabilities|Interconnects))\\(")
            .matcher(api)
            .results()
            .map(found -> found.group(1))
            .toList();
    assertEquals(List.of(), constructors);
  }

  @Test
  void everyTypeOfThePublicApiIsPublic() throws Exception {
    Path classes =
        Path.of(Resource.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Set<String> exported =
        ModuleFinder.of(classes).findAll().iterator().next().descriptor().exports().stream()
            .map(ModuleDescriptor.Exports::source)
            .collect(Collectors.toSet());
    Set<String> hidden = new TreeSet<>();
    int types = 0;
    for (String name : exported) {
      for (String file : classes.resolve(name.replace('.', '/')).toFile().list()) {
        if (file.endsWith(".class") && !file.equals("package-info.class")) {
          Class<?> type = Class.forName(name + "." + file.replace(".class", ""), false, loader());
          if (isReachable(type, exported)) {
            types++;
            typesOf(type)
                .filter(used -> !isReachable(used, exported))
                .forEach(used -> hidden.add(type.getName() + " names " + used.getName()));
          }
        }
      }
    }
    assertTrue(types > 400, "types: " + types);
    assertEquals(Set.of(), hidden);
  }

  private static ClassLoader loader() {
    return ClosedDoorsTest.class.getClassLoader();
  }

  /** Whether a program can name a type: one of the JDK, or an exported one that is public. */
  private static boolean isReachable(Class<?> type, Set<String> exported) {
    if (type.isPrimitive() || type.getName().startsWith("java.")) {
      return true;
    }
    for (Class<?> c = type; c != null; c = c.getEnclosingClass()) {
      if (!Modifier.isPublic(c.getModifiers())) {
        return false;
      }
    }
    return exported.contains(type.getPackageName());
  }

  /** The types in the declaration of a type, and in those of its public and protected members. */
  private static Stream<Class<?>> typesOf(Class<?> type) {
    Stream<Type> inherited =
        Stream.concat(
            Stream.ofNullable(type.getGenericSuperclass()), Stream.of(type.getGenericInterfaces()));
    Stream<Type> fields =
        Stream.of(type.getDeclaredFields())
            .filter(ClosedDoorsTest::isVisible)
            .map(Field::getGenericType);
    Stream<Type> calls =
        Stream.<Executable>concat(
                Stream.of(type.getDeclaredMethods()), Stream.of(type.getDeclaredConstructors()))
            .filter(ClosedDoorsTest::isVisible)
            .flatMap(
                call ->
                    Stream.of(
                            bounds(call),
                            Stream.of(call.getGenericParameterTypes()),
                            Stream.of(call.getGenericExceptionTypes()),
                            Stream.of(call.getAnnotatedReturnType().getType()))
                        .flatMap(types -> types));
    return Stream.of(bounds(type), inherited, fields, calls)
        .flatMap(types -> types)
        .flatMap(ClosedDoorsTest::classes);
  }

  private static boolean isVisible(Member member) {
    return !member.isSynthetic()
        && (member.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0;
  }

  private static Stream<Type> bounds(GenericDeclaration declaration) {
    return Stream.of(declaration.getTypeParameters())
        .flatMap(parameter -> Stream.of(parameter.getBounds()));
  }

  /** The classes that a type is written with. */
  private static Stream<Class<?>> classes(Type type) {
    return switch (type) {
      case Class<?> c -> Stream.of(c.isArray() ? c.getComponentType() : c);
      case ParameterizedType p ->
          Stream.concat(Stream.of(p.getRawType()), Stream.of(p.getActualTypeArguments()))
              .flatMap(ClosedDoorsTest::classes);
      case WildcardType w ->
          Stream.concat(Stream.of(w.getUpperBounds()), Stream.of(w.getLowerBounds()))
              .flatMap(ClosedDoorsTest::classes);
      case GenericArrayType a -> classes(a.getGenericComponentType());
      default -> Stream.empty(); // A type variable: its bounds are where it is declared.
    };
  }

  @Test
  void noPublicMemberIsForSubclasses() throws Exception {
    List<String> hooks =
        Files.readString(Path.of("src/build/public-api.txt"))
            .lines()
            .filter(line -> line.startsWith("  protected ") && !line.contains("RdmaException("))
            .toList();
    assertEquals(List.of(), hooks);
  }
}
